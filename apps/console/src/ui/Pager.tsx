import { Button } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import classes from './Pager.module.css'

interface PagerProps {
  /** From 1. */
  page: number
  pageSize: number
  /** Rows on all pages together. */
  total: number
  onChange: (page: number) => void
}

/** Turns the pages of a list that shows the newest first; nothing where one page holds it all. */
export function Pager({ page, pageSize, total, onChange }: PagerProps) {
  const { t } = useTranslation('common')
  const pages = Math.max(1, Math.ceil(total / pageSize))
  if (pages <= 1 && page <= 1) return null
  return (
    <div className={classes.pager}>
      <Button size="xs" variant="default" disabled={page <= 1} onClick={() => onChange(page - 1)}>
        {t('pager.newer')}
      </Button>
      <span>{t('pager.page', { page, pages })}</span>
      <Button size="xs" variant="default" disabled={page >= pages} onClick={() => onChange(page + 1)}>
        {t('pager.older')}
      </Button>
    </div>
  )
}
