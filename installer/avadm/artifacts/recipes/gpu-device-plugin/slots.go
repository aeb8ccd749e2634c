package main

import (
	"strconv"
	"strings"
)

// between stands between a card's name and the number of a slot; no UUID has it.
const between = "::"

// shares returns what kubelet counts of a card: the card itself, or so many slots of it.
func shares(uuid string, slots int) []string {
	if slots == 1 {
		return []string{uuid}
	}
	found := make([]string, slots)
	for i := range found {
		found[i] = uuid + between + strconv.Itoa(i)
	}
	return found
}

// whole returns the cards of what kubelet hands out. kubelet chooses slots by chance, so two of them may be of one card or
// of two: a container gets one at most, or no one could say what it has.
func whole(ids []string, slots int) ([]string, error) {
	if slots == 1 {
		return ids, nil
	}
	if len(ids) > 1 {
		return nil, failed(statusInvalid, "%d slots of shared GPUs are asked for, a container may have 1", len(ids))
	}
	found := make([]string, len(ids))
	for i, id := range ids {
		uuid, number, _ := strings.Cut(id, between)
		if n, err := strconv.Atoi(number); err != nil || n < 0 || n >= slots {
			return nil, failed(statusNotFound, "there is no slot %s", id)
		}
		found[i] = uuid
	}
	return found, nil
}
