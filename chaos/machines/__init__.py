"""Several machines of one household: processes in network namespaces of their own, and the wires between them."""
