"""What a tenant's container must not reach, as data, and the program that tries it from inside one."""
