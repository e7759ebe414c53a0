"""The API's messages, generated from proto/headgate/v1."""
