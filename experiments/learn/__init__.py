"""What training finds and what it does not: more examples, other lengths, a hybrid."""
