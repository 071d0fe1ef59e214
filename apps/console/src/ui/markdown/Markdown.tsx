import type { Root } from 'hast'
import { toJsxRuntime } from 'hast-util-to-jsx-runtime'
import { useEffect, useMemo, useState } from 'react'
import { Fragment, jsx, jsxs } from 'react/jsx-runtime'
import { useTranslation } from 'react-i18next'
import prose from '../Prose.module.css'
import { SkeletonRows } from '../SkeletonRows.tsx'
import { CodeBlock } from './CodeBlock.tsx'
import classes from './Markdown.module.css'
import { componentsFor } from './markdown-components.tsx'
import { readMarkdown } from './read-markdown.ts'

interface MarkdownProps {
  /** As somebody wrote it who is not trusted. */
  text: string
  /** Where pictures may come from, as an address; those from elsewhere are named instead. Null: none is shown. */
  picturesFrom: string | null
}

/**
 * Shows Markdown of a stranger: no HTML of theirs, no script, no picture from anywhere, links that carry nothing of ours.
 * A text that cannot be drawn is shown as it was written.
 */
export function Markdown({ text, picturesFrom }: MarkdownProps) {
  const { t } = useTranslation('common')
  const tree = useTree(text)
  const components = useMemo(() => componentsFor(picturesFrom), [picturesFrom])
  if (tree === undefined) return <SkeletonRows rows={4} />
  if (tree === null) {
    return (
      <div className={classes.plain}>
        <p className={classes.note}>{t('markdown.plain')}</p>
        <CodeBlock>{text}</CodeBlock>
      </div>
    )
  }
  return (
    <article className={`${prose.text} ${classes.text}`}>
      {toJsxRuntime(tree, { Fragment, jsx, jsxs, components, ignoreInvalidStyle: true })}
    </article>
  )
}

/** The tree of a text; the one before stays until it is there, so that nothing blinks while somebody types. */
function useTree(text: string): Root | null | undefined {
  const [tree, setTree] = useState<Root | null>()
  useEffect(() => {
    const abort = new AbortController()
    void readMarkdown(text, abort.signal).then(setTree)
    return () => abort.abort()
  }, [text])
  return tree
}
