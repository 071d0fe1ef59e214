import { Button } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { useCreations } from './creation-queries.ts'
import classes from './MoreRuns.module.css'

/** Reads the runs after those that are shown; nothing where all are. */
export function MoreRuns({ query }: { query: ReturnType<typeof useCreations> }) {
  const { t } = useTranslation('making')
  if (!query.hasNextPage) return null
  return (
    <Button
      variant="default"
      className={classes.more ?? ''}
      loading={query.isFetchingNextPage}
      onClick={() => void query.fetchNextPage()}
    >
      {t('runs.more')}
    </Button>
  )
}
