"""Commands, as a person types them."""
