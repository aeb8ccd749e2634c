"""Reading a site file: text, model, rules, vault; writing a first one."""
