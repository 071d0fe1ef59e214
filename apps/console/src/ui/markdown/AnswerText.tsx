import type { Nodes } from 'hast'
import { toJsxRuntime } from 'hast-util-to-jsx-runtime'
import { memo, useEffect, useId, useRef, useState } from 'react'
import { Fragment, jsx, jsxs } from 'react/jsx-runtime'
import prose from '../Prose.module.css'
import './answer-code.css'
import classes from './AnswerText.module.css'
import type { AnswerReader } from './answer-reader.ts'
import { copyFormulas } from './copy-formulas.ts'
import markdown from './Markdown.module.css'
import { answerComponents } from './markdown-components.tsx'

interface AnswerTextProps {
  /** As somebody writes it who is not trusted; it may grow. */
  text: string
  reader: AnswerReader
}

/** No picture is loaded: whoever wrote the text would learn by it who reads it, and when. */
const COMPONENTS = answerComponents()

/**
 * Shows Markdown while it is written: what has come is laid out as soon as it is read, and of that only the elements
 * that changed are drawn anew. As `Markdown`, no HTML, no script, no picture; a text that cannot be drawn is shown as it
 * was written.
 */
export function AnswerText({ text, reader }: AnswerTextProps) {
  const blocks = useBlocks(text, reader)
  if (blocks === null) return <div className={classes.plain}>{text}</div>
  return (
    <div className={`${prose.text} ${markdown.text} ${classes.text}`} onCopy={copyFormulas}>
      {blocks.map((json, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a text grows at its end; its elements have no other name.
        <Block key={index} json={json} />
      ))}
    </div>
  )
}

const Block = memo(function Block({ json }: { json: string }) {
  const node = JSON.parse(json) as Nodes
  return toJsxRuntime(node, { Fragment, jsx, jsxs, components: COMPONENTS, ignoreInvalidStyle: true })
})

/** The newest elements of a text that grows; null until there are some, and where it cannot be drawn. */
function useBlocks(text: string, reader: AnswerReader): readonly string[] | null {
  const key = useId().replace(/\W/g, '')
  const [blocks, setBlocks] = useState<readonly string[] | null>(null)
  const newest = useRef(text)
  const isReading = useRef(false)
  const isGone = useRef(false)
  useEffect(() => {
    isGone.current = false
    return () => {
      isGone.current = true
    }
  }, [])
  useEffect(() => {
    newest.current = text
    // What comes while a text is read is read with the next: never more than one of an answer is under way.
    if (isReading.current) return
    isReading.current = true
    void readOn()

    async function readOn(): Promise<void> {
      for (let read: string | null = null; read !== newest.current && !isGone.current; ) {
        read = newest.current
        const next = await reader.read({ text: read, key })
        if (!isGone.current) setBlocks(next)
      }
      isReading.current = false
    }
  }, [text, key, reader])
  return blocks
}
