"""The toolkit's vocabulary: events, results, errors, switches and protocols; it imports nothing above itself."""
