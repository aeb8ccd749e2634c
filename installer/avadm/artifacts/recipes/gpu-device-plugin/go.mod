module avadm.invalid/gpu-device-plugin

go 1.24
