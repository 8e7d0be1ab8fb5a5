"""The faces of chat services in the sandbox: what each keeps, and what the person does there."""
