module avadm.invalid/pause

go 1.21
