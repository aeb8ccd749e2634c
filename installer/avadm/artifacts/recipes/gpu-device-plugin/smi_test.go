package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestNvidiaSmiThatHangsKeepsNobodyWaiting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nvidia-smi")
	write(t, path, "#!/bin/sh\nread hangs <"+path+".gate\necho '00000000:06:00.0, GPU-0'\n")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path+".gate", 0o600); err != nil {
		t.Fatal(err)
	}
	s, now := &smi{program: path, every: time.Minute}, time.Now()
	for i, wanted := range []bool{false, false, true, false, true} { // half a minute each
		if answer, asked := s.news(now.Add(time.Duration(i) * s.every / 2)); asked != wanted || answer != "" {
			t.Fatal(i, answer, asked)
		}
	}
	write(t, path+".gate", "go\n")
	for range 500 {
		if answer, asked := s.news(s.asked); asked {
			if listing(answer)["0000:06:00"] != "GPU-0" {
				t.Fatal(answer)
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("no answer")
}
