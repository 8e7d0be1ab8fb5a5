"""The household's open questions, shown as popups and answered over its API."""
