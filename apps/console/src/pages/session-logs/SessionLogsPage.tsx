import { type CallTotals, downloadSessionLog } from '@berth/contract/session-log'
import { Button } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useCallback, useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { request } from '../../api/client.ts'
import { List } from '../../lists/List.tsx'
import { useFilters } from '../../lists/use-filters.ts'
import { ModelsBar } from '../../models/ModelsBar.tsx'
import { useCsv } from '../../receipts/use-csv.ts'
import { Card } from '../../ui/Card.tsx'
import { useFormat } from '../../ui/format.ts'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { CallBody } from './CallBody.tsx'
import { LogFilters } from './LogFilters.tsx'
import { useLogColumns } from './log-columns.tsx'
import { logSearch, queryOfSearch } from './log-search.ts'
import classes from './SessionLogsPage.module.css'
import { useSessionLog } from './use-session-log.ts'

/** What the customer has called of models, newest first, and what all that is shown comes to (R1.5). */
export function Page() {
  const { t } = useTranslation(['session-logs', 'common'])
  const format = useFormat()
  const filters = useFilters(logSearch)
  const query = queryOfSearch(filters.values)
  const log = useSessionLog(query)
  const { data } = log
  const [callId, setCallId] = useState<string | null>(null)
  const openedId = useId()
  const toggle = useCallback((id: string) => setCallId(opened => (opened === id ? null : id)), [])
  const columns = useLogColumns(data?.currency ?? 'USD', { callId, openedId, toggle })
  const { busy, save } = useCsv()
  const totals = data?.totals
  /** Tokens go unsaid where there were none and something else was made. */
  const usedWords = ({ input_tokens, output_tokens, images, video_seconds }: CallTotals): string[] => {
    const made = [
      ...(images > 0 ? [t('pictures', { count: images })] : []),
      ...(video_seconds > 0 ? [t('seconds_of_video', { count: video_seconds })] : []),
    ]
    if (made.length > 0 && input_tokens + output_tokens === 0) return made
    const tokens = { input: format.number(input_tokens), output: format.number(output_tokens) }
    return [t('totals_tokens', tokens), ...made]
  }
  return (
    <>
      <ModelsBar />
      <PageHeader
        title={t('common:titles.session-logs')}
        second={
          totals &&
          totals.calls > 0 &&
          t('totals', {
            count: totals.calls,
            calls: format.number(totals.calls),
            failed: format.number(totals.failed),
            used: usedWords(totals).join(t('totals_between')),
            cost: format.exactMoney(totals.cost_micro, data.currency),
          })
        }
        actions={
          <Button
            variant="default"
            loading={busy}
            leftSection={<IconDownload size={16} stroke={1.6} />}
            onClick={() => save('session-logs.csv', () => request(downloadSessionLog, { query }))}
          >
            {t('download')}
          </Button>
        }
      />
      <Card padding="none">
        <LogFilters filters={filters} />
        <List
          label={t('label')}
          query={log}
          rows={data?.items}
          keyOf={row => row.id}
          columns={columns}
          below={({ id }) => id === callId && <CallBody key={id} id={openedId} callId={id} />}
          skeletonRows={8}
          none={{ title: t('none'), hint: t('none_hint') }}
          noneFound={filters.narrowed && { title: t('none_found'), hint: t('none_found_hint') }}
        />
        {log.hasNextPage && (
          <div className={classes.more}>
            <Button
              variant="default"
              loading={log.isFetchingNextPage}
              onClick={() => void log.fetchNextPage()}
            >
              {t('more')}
            </Button>
          </div>
        )}
      </Card>
    </>
  )
}
