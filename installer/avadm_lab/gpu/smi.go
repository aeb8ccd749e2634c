package main

import (
	"fmt"
	"os"
	"strings"
)

const model = "Fake GPU"

// smi knows -L, --query-gpu=FIELDS --format=csv[,noheader][,nounits], -pm, --version, and a list without arguments.
func smi(args []string) error {
	query, format := "", ""
	list := len(args) == 0
	for _, arg := range args {
		switch {
		case arg == "-L" || arg == "--list-gpus":
			list = true
		case arg == "--version":
			fmt.Println("NVIDIA-SMI version  :", version)
			return nil
		case strings.HasPrefix(arg, "--query-gpu="):
			query = strings.TrimPrefix(arg, "--query-gpu=")
		case strings.HasPrefix(arg, "--format="):
			format = strings.TrimPrefix(arg, "--format=")
		}
	}
	gpus := visible()
	if len(gpus) == 0 {
		fmt.Println("No devices were found")
		os.Exit(6)
	}
	if query != "" {
		return csv(gpus, strings.Split(query, ","), format)
	}
	for i, g := range gpus {
		if list {
			fmt.Printf("GPU %d: %s (UUID: %s)\n", i, model, g.uuid())
		}
	}
	return nil
}

func csv(gpus []gpu, fields []string, format string) error {
	units := !strings.Contains(format, "nounits")
	if !strings.Contains(format, "noheader") {
		fmt.Println(strings.Join(fields, ", "))
	}
	for i, g := range gpus {
		var row []string
		for _, field := range fields {
			value, unit := g.field(strings.TrimSpace(field), i)
			if value == "" {
				return fmt.Errorf("field %q is not a valid field to query", field)
			}
			if units && unit != "" {
				value += " " + unit
			}
			row = append(row, value)
		}
		fmt.Println(strings.Join(row, ", "))
	}
	return nil
}

func (g gpu) field(name string, index int) (value, unit string) {
	switch name {
	case "index":
		return fmt.Sprint(index), ""
	case "name", "gpu_name":
		return model, ""
	case "uuid", "gpu_uuid":
		return g.uuid(), ""
	case "pci.bus_id", "gpu_bus_id":
		return g.bus(), ""
	case "driver_version":
		return version, ""
	case "persistence_mode":
		return "Enabled", ""
	case "utilization.gpu":
		return fmt.Sprint(g.utilization()), "%"
	case "memory.total":
		return fmt.Sprint(totalMiB), "MiB"
	case "memory.used":
		return fmt.Sprint(g.usedMiB()), "MiB"
	}
	return "", ""
}
