import type { Root } from 'hast'
import { type Components, toJsxRuntime } from 'hast-util-to-jsx-runtime'
import { type ComponentProps, createElement, useEffect, useMemo, useState } from 'react'
import { Fragment, jsx, jsxs } from 'react/jsx-runtime'
import { useTranslation } from 'react-i18next'
import prose from '../Prose.module.css'
import { SkeletonRows } from '../SkeletonRows.tsx'
import { CodeBlock } from './CodeBlock.tsx'
import classes from './Markdown.module.css'
import { isPictureFrom, linkOf } from './markdown-addresses.ts'
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

function componentsFor(picturesFrom: string | null): Partial<Components> {
  return {
    a: Link,
    pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
    table: ({ children }) => <Table>{children}</Table>,
    input: ({ checked }) => <Done done={checked === true} />,
    img: ({ src, alt }) => <Picture src={src} alt={alt ?? ''} from={picturesFrom} />,
    h1: heading(2),
    h2: heading(3),
    h3: heading(4),
    h4: heading(5),
    h5: heading(6),
    h6: heading(6),
  }
}

/** The page has a first heading of its own, under which the text's come. */
function heading(level: 2 | 3 | 4 | 5 | 6) {
  return ({ children, id }: ComponentProps<'h2'>) => createElement(`h${level}`, { id }, children)
}

function Link({ href, children, id }: ComponentProps<'a'>) {
  const link = linkOf(href ?? '')
  if (link === null) return <span>{children}</span>
  if (link.within) {
    return (
      <a href={link.href} id={id}>
        {children}
      </a>
    )
  }
  return (
    <a href={link.href} target="_blank" rel="noopener noreferrer nofollow ugc">
      {children}
    </a>
  )
}

function Picture({ src, alt, from }: { src: string | undefined; alt: string; from: string | null }) {
  const { t } = useTranslation('common')
  if (typeof src === 'string' && isPictureFrom(src, from)) {
    return <img src={src} alt={alt} loading="lazy" decoding="async" referrerPolicy="no-referrer" />
  }
  return (
    <span className={classes.picture} title={t('markdown.picture_why')}>
      {t('markdown.picture', { alt: alt || '–' })}
    </span>
  )
}

/** A table that is wider than the text scrolls within itself, by keyboard too. */
function Table({ children }: ComponentProps<'table'>) {
  const { t } = useTranslation('common')
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <section className={classes.table} tabIndex={0} aria-label={t('markdown.table')}>
      <table>{children}</table>
    </section>
  )
}

/** A box of a list of tasks, which nobody can tick. */
function Done({ done }: { done: boolean }) {
  const { t } = useTranslation('common')
  return (
    <input
      type="checkbox"
      className={classes.done}
      disabled
      checked={done}
      readOnly
      aria-label={t(done ? 'markdown.done' : 'markdown.not_done')}
    />
  )
}
