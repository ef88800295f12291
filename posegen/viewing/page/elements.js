// Make elements of the page. Texts of datasets are set as text, never as HTML.

/** Return an element with attributes, among them `text` and `class`, and children. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") made.textContent = value;
    else if (name === "class") made.className = value;
    else if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Return the element with an id. */
export const byId = (id) => document.getElementById(id);

/** Return a number with separators of thousands. */
export const count = (number) => number.toLocaleString("en");

/** Return a number from 1 to `colours` for a name, always the same. */
export function colourOf(name, colours = 8) {
  let hash = 7;
  for (const letter of name) hash = (hash * 31 + letter.codePointAt(0)) % 9973;
  return 1 + (hash % colours);
}
