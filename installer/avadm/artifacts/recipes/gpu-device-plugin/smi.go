package main

import (
	"context"
	"os/exec"
	"time"
)

// smi asks nvidia-smi for the cards, one question at a time: with a broken card it can hang where no signal reaches it.
type smi struct {
	program string
	limit   time.Duration
	answers chan string // nil while nothing is asked
}

// ask returns what it says, "" where it fails or does not answer in time.
func (s *smi) ask() string {
	if s.answers == nil {
		answers := make(chan string, 1)
		s.answers = answers
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), s.limit)
			defer cancel()
			// What it lists is true even where it ends in an error because of another card.
			out, _ := exec.CommandContext(ctx, s.program, "--query-gpu=pci.bus_id,uuid", "--format=csv,noheader").Output()
			answers <- string(out)
		}()
	}
	select {
	case answer := <-s.answers:
		s.answers = nil
		return answer
	case <-time.After(s.limit):
		return ""
	}
}
