import type { Components } from 'hast-util-to-jsx-runtime'
import { type ComponentProps, createElement, isValidElement, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { CodeBlock } from './CodeBlock.tsx'
import classes from './Markdown.module.css'
import { isPictureFrom, linkOf } from './markdown-addresses.ts'

/**
 * What the elements of a stranger's text are drawn by.
 * @param picturesFrom Where pictures may come from, as an address; null: none is shown.
 */
export function componentsFor(picturesFrom: string | null): Partial<Components> {
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

/** As `componentsFor`, for the answer of a model: each block of code says what it is written in. */
export function answerComponents(): Partial<Components> {
  return {
    ...componentsFor(null),
    pre: ({ children }) => <CodeBlock language={languageOf(children)}>{children}</CodeBlock>,
  }
}

/** What the code in a `pre` says that it is written in; empty where it says nothing. */
function languageOf(children: ReactNode): string {
  const name = isValidElement<{ className?: string }>(children) ? children.props.className : undefined
  return /language-(\S+)/.exec(name ?? '')?.[1] ?? ''
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
