"""What a site is to be, beside what it was when its phases were done, and what its nodes say now."""
