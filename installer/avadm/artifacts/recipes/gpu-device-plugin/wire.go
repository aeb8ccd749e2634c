package main

import (
	"encoding/binary"
	"errors"
)

// Protobuf's wire format as far as the device plug-in API needs it: strings, messages in messages, and one truth value.
// Sources: Kubernetes' pkg/kubelet/apis/deviceplugin/v1alpha/api.proto (release 1.9), v1beta1/api.proto (1.10 and newer).

type message []byte

const (
	kindVarint = 0
	kind64     = 1
	kindBytes  = 2
	kind32     = 5
)

var errWire = errors.New("no protobuf")

// bytes appends a field that is a string or a message.
func (m message) bytes(field int, value []byte) message {
	m = binary.AppendUvarint(m, uint64(field)<<3|kindBytes)
	m = binary.AppendUvarint(m, uint64(len(value)))
	return append(m, value...)
}

func (m message) text(field int, value string) message { return m.bytes(field, []byte(value)) }

func (m message) truth(field int) message {
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(field)<<3|kindVarint), 1)
}

// all returns every value of a field of strings or messages, in order.
func (m message) all(field int) ([]message, error) {
	var found []message
	for len(m) > 0 {
		tag, n := binary.Uvarint(m)
		if n <= 0 {
			return nil, errWire
		}
		m = m[n:]
		size, value := uint64(0), false
		switch tag & 7 {
		case kindVarint:
			if _, n = binary.Uvarint(m); n <= 0 {
				return nil, errWire
			}
			size = uint64(n)
		case kind64:
			size = 8
		case kind32:
			size = 4
		case kindBytes:
			if size, n = binary.Uvarint(m); n <= 0 {
				return nil, errWire
			}
			m, value = m[n:], true
		default:
			return nil, errWire
		}
		if size > uint64(len(m)) {
			return nil, errWire
		}
		if value && tag>>3 == uint64(field) {
			found = append(found, m[:size])
		}
		m = m[size:]
	}
	return found, nil
}

// texts returns every value of a field of strings.
func (m message) texts(field int) ([]string, error) {
	values, err := m.all(field)
	found := make([]string, len(values))
	for i, value := range values {
		found[i] = string(value)
	}
	return found, err
}
