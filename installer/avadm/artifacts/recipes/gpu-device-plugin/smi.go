package main

import (
	"context"
	"os/exec"
	"time"
)

// smi asks nvidia-smi for the cards, one question at a time: with a broken card it can hang where no signal reaches it.
type smi struct {
	program string
	every   time.Duration
	asked   time.Time
	answers chan string // nil while nothing is asked
}

// news asks when it is time and never waits; asked says that a question has ended, with what it reported or, after too long, "".
func (s *smi) news(now time.Time) (answer string, asked bool) {
	if s.answers == nil && now.Sub(s.asked) >= s.every {
		s.asked, s.answers = now, make(chan string, 1)
		go s.ask(s.answers)
		return "", false
	}
	select {
	case answer = <-s.answers: // of nil there is none
		s.answers = nil
		return answer, true
	default:
	}
	if s.answers != nil && now.Sub(s.asked) >= s.every {
		s.asked = now
		return "", true
	}
	return "", false
}

func (s *smi) ask(answers chan<- string) {
	ctx, cancel := context.WithTimeout(context.Background(), s.every)
	defer cancel()
	// What it lists is true even where it ends in an error because of another card.
	out, _ := exec.CommandContext(ctx, s.program, "--query-gpu=pci.bus_id,uuid", "--format=csv,noheader").Output()
	answers <- string(out)
}
