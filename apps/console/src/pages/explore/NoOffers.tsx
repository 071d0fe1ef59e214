import { Button } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Card } from '../../ui/Card.tsx'
import { EmptyState } from '../../ui/EmptyState.tsx'

interface NoOffersProps {
  /** How many there are without the filters. */
  hidden: number
  /** The filters that are on, in words. */
  by: readonly string[]
  onClear: () => void
}

/** Nothing matches, which never looks as if there were nothing: says what hides how many. */
export function NoOffers({ hidden, by, onClear }: NoOffersProps) {
  const { t } = useTranslation('offers')
  return (
    <Card padding="none">
      {hidden === 0 ? (
        <EmptyState title={t('none.title')} hint={t('none.hint')} />
      ) : (
        <EmptyState
          title={t('none_found.title')}
          hint={t('none_found.hint', { count: hidden, by: by.join(t('none_found.and')) })}
          action={
            <Button variant="default" onClick={onClear}>
              {t('none_found.clear')}
            </Button>
          }
        />
      )}
    </Card>
  )
}
