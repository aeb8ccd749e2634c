module avadm.lab/gpu

go 1.21
