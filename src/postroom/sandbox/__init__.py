"""A local Bot API and SMTP server: no message ever leaves this machine."""
