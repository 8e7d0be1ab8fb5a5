"""What a butler's file can switch on with a `[modules.*]` section."""
