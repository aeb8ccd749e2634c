"""What users may do with AVA: one function for one intent; the API, the web site and the file service call it."""
