import { useEffect, useRef } from 'react'

/**
 * Takes a file that is pasted anywhere on the page, but not into a text that somebody types: there it would be that field's.
 * @param take Given the first of what is pasted.
 */
export function usePasted(take: (file: File) => void): void {
  const latest = useRef(take)
  useEffect(() => {
    latest.current = take
  })
  useEffect(() => {
    const onPaste = (event: ClipboardEvent) => {
      const [file] = event.clipboardData?.files ?? []
      if (!file || isTyping(event.target)) return
      event.preventDefault()
      latest.current(file)
    }
    document.addEventListener('paste', onPaste)
    return () => document.removeEventListener('paste', onPaste)
  }, [])
}

function isTyping(target: EventTarget | null): boolean {
  const field = target instanceof Element && target.closest('input, textarea, [contenteditable]')
  return field instanceof Element && !['checkbox', 'radio'].includes(field.getAttribute('type') ?? '')
}
