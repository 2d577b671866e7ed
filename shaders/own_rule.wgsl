// The rule of a scene stands in place of this file, which changes no contact.

fn rule(contact: RuleContact) -> RuleContact {
    return contact;
}
