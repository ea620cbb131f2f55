"""Import and export: lossless exports, Markdown for editing by hand, files of other projects, plain JSON."""
