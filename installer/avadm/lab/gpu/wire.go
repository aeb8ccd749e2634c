package main

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// The messages of Kubernetes 1.9's device plug-in API (pkg/kubelet/apis/deviceplugin/v1alpha/api.proto), written by hand:
// Go's own package of them lies in the module k8s.io/kubernetes with all that it needs.

// message is encoded protobuf; only these few fields are ever read.
type message []byte

type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(v any) ([]byte, error) {
	m, ok := v.(*message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", v)
	}
	return *m, nil
}

func (codec) Unmarshal(data []byte, v any) error {
	m, ok := v.(*message)
	if !ok {
		return fmt.Errorf("%T is no message", v)
	}
	*m = append((*m)[:0], data...)
	return nil
}

func text(m message, field protowire.Number, value string) message {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), value)
}

func inner(m message, field protowire.Number, value message) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), value)
}

func truth(m message, field protowire.Number) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), 1)
}

// texts returns all values of a field of strings.
func texts(m message, field protowire.Number) ([]string, error) {
	var found []string
	for len(m) > 0 {
		number, kind, n := protowire.ConsumeTag(m)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		m = m[n:]
		if number == field && kind == protowire.BytesType {
			value, n := protowire.ConsumeString(m)
			if n < 0 {
				return nil, protowire.ParseError(n)
			}
			found, m = append(found, value), m[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(number, kind, m); n < 0 {
			return nil, protowire.ParseError(n)
		}
		m = m[n:]
	}
	return found, nil
}

// devices is a ListAndWatchResponse.
func devices(gpus []gpu) message {
	var m message
	for _, g := range gpus {
		health := "Healthy"
		if g.failed {
			health = "Unhealthy"
		}
		m = inner(m, 1, text(text(nil, 1, g.uuid()), 2, health))
	}
	return m
}

// allocation is an AllocateResponse: exactly the devices that were asked for, the control device, and nvidia-smi.
func allocation(ids []string, minors []int, program string) message {
	joined := ""
	for i, id := range ids {
		if i > 0 {
			joined += ","
		}
		joined += id
	}
	m := inner(nil, 1, text(text(nil, 1, "NVIDIA_VISIBLE_DEVICES"), 2, joined))
	m = inner(m, 2, truth(text(text(nil, 1, "/usr/bin/nvidia-smi"), 2, program), 3))
	for _, path := range paths(minors) {
		m = inner(m, 3, text(text(text(nil, 1, path), 2, path), 3, "rw"))
	}
	return m
}

func paths(minors []int) []string {
	var found []string
	for _, minor := range minors {
		found = append(found, fmt.Sprintf("/dev/nvidia%d", minor))
	}
	return append(found, "/dev/nvidiactl")
}
