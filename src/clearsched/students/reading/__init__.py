"""Reading a student: what each of its pieces is worth, why it answered as it did, what would change its mind."""
