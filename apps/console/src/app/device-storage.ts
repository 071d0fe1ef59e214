/** Stands in where storage is switched off: what is kept then lasts as long as the page. */
const memory = new Map<string, string>()

/**
 * Reads what was kept on this device.
 * @param name Its key.
 * @returns The text; null where there is none.
 */
export function readKept(name: string): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    return memory.get(name) ?? null
  }
}

/**
 * Keeps a text on this device.
 * @param name Its key.
 * @param text Null forgets it.
 */
export function keep(name: string, text: string | null): void {
  try {
    if (text === null) localStorage.removeItem(name)
    else localStorage.setItem(name, text)
  } catch {
    if (text === null) memory.delete(name)
    else memory.set(name, text)
  }
}
