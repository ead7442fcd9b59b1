"""What goes, in which order, across everything below; and what is rolled back."""
