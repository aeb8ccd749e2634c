module avadm.invalid/admission

go 1.21
