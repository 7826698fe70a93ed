"""One folder per wire API, and the local model; each adapter imports its SDK when it is first needed."""
