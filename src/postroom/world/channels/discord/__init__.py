"""Discord as a bot: messages over its REST API, what people write and press over its Gateway."""
