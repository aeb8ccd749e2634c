package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
)

// exporter serves the metrics of dcgm-exporter 1.x, with values that are known beforehand.
func exporter(args []string) error {
	flags := flag.NewFlagSet("dcgm-exporter", flag.ExitOnError)
	listen := flags.String("listen", ":9400", "address and port")
	if err := flags.Parse(args); err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	http.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		gpus := visible()
		metric := func(name, help string, value func(gpu) int) {
			fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
			for _, g := range gpus {
				fmt.Fprintf(w, "%s{gpu=\"%d\",uuid=\"%s\",node=\"%s\"} %d\n", name, g.minor, g.uuid(), host, value(g))
			}
		}
		metric("dcgm_gpu_utilization", "GPU utilization, percent.", gpu.utilization)
		metric("dcgm_fb_used", "Memory in use, MiB.", gpu.usedMiB)
		metric("dcgm_fb_free", "Memory free, MiB.", func(g gpu) int { return totalMiB - g.usedMiB() })
		metric("dcgm_gpu_temp", "Temperature, degrees Celsius.", func(g gpu) int { return 40 + g.minor })
		metric("dcgm_power_usage", "Power, W.", func(g gpu) int { return 100 + g.minor })
		metric("dcgm_xid_errors", "The last XID error.", func(g gpu) int {
			if g.failed {
				return 48
			}
			return 0
		})
	})
	return http.ListenAndServe(*listen, nil)
}
