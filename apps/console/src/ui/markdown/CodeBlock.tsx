import { type ReactNode, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { CopyButton } from '../CopyText.tsx'
import classes from './Markdown.module.css'

interface CodeBlockProps {
  children?: ReactNode
  /** What it is written in, said over it; left out: nothing is, not even that nothing is known. */
  language?: string
}

/** A block of code, with a button that copies it. Long lines scroll within it, by keyboard too. */
export function CodeBlock({ children, language }: CodeBlockProps) {
  const { t } = useTranslation('common')
  const block = useRef<HTMLPreElement>(null)
  return (
    <div className={classes.code} data-headed={language !== undefined || undefined}>
      {language !== undefined && (
        <span className={classes.language}>{language === '' ? t('markdown.text') : language}</span>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <pre ref={block} tabIndex={0}>
        {children}
      </pre>
      <span className={classes.copy}>
        <CopyButton textOf={() => block.current?.textContent ?? ''} label={t('markdown.code')} />
      </span>
    </div>
  )
}
