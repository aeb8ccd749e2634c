module avadm.invalid/ava-init

go 1.21
