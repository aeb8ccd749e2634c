"""What the HTTP servers of AVA share: strict requests, JSON responses, problem documents, middleware."""
