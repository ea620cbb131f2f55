"""How does Scrubjay do behind the interfaces of other projects, beside what they come with?"""
