"""Discord as its documentation describes it, for clients that send to it and listen to its Gateway."""
