import { type DragEvent, useRef, useState } from 'react'

/**
 * Takes files that are dropped on an element, and says while something is held over it.
 * @param onDrop Given what was dropped.
 * @returns `handlers` for the element.
 */
export function useDrop(onDrop: (data: DataTransfer) => void) {
  // Each element inside is entered before the one outside it is left.
  const depth = useRef(0)
  const [isOver, setOver] = useState(false)
  const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer.types.includes('Files')
  const move = (event: DragEvent, by: 1 | -1) => {
    if (!hasFiles(event)) return
    depth.current += by
    setOver(depth.current > 0)
  }
  return {
    isOver,
    handlers: {
      onDragEnter: (event: DragEvent) => move(event, 1),
      onDragLeave: (event: DragEvent) => move(event, -1),
      onDragOver: (event: DragEvent) => {
        // Else the browser opens the file in place of the page.
        if (hasFiles(event)) event.preventDefault()
      },
      onDrop: (event: DragEvent) => {
        if (!hasFiles(event)) return
        event.preventDefault()
        depth.current = 0
        setOver(false)
        onDrop(event.dataTransfer)
      },
    },
  }
}
