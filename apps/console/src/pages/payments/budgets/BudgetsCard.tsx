import { addBudget, type Budget, editBudget, listBudgets, removeBudget } from '@berth/contract/budgets'
import { ActionIcon } from '@mantine/core'
import { IconPencil, IconPlus, IconTrash } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../../api/queries.ts'
import { useChange } from '../../../api/use-change.ts'
import { lazyPart } from '../../../app/lazy-part.ts'
import { searchOf } from '../../../app/search.ts'
import { VerifiedButton } from '../../../app/session/VerifiedButton.tsx'
import { useAsked } from '../../../lists/use-asked.ts'
import { Answer } from '../../../ui/Answer.tsx'
import { Card } from '../../../ui/Card.tsx'
import { useFormat } from '../../../ui/format.ts'
import { toast } from '../../../ui/toast.ts'
import { REFRESH_MS } from '../refresh.ts'
import classes from './BudgetsCard.module.css'
import { percentSpent, stateOf } from './budget-state.ts'

const BudgetDialog = lazyPart(() => import('./BudgetDialog.tsx').then(module => module.BudgetDialog))
const ConfirmDialog = lazyPart(() =>
  import('../../../ui/ConfirmDialog.tsx').then(module => module.ConfirmDialog),
)

/** What the account, its instances and its API keys are meant to cost by day or month, and what was spent of it (B16). */
export function BudgetsCard() {
  const { t } = useTranslation('budgets')
  const query = useQuery({ ...queryOf(listBudgets, {}), refetchInterval: REFRESH_MS })
  const remove = useChange(removeBudget)
  const adding = useAsked<true>()
  const editing = useAsked<Budget>()
  const removing = useAsked<Budget>()
  const name = useName()
  return (
    <>
      <Card
        title={t('title')}
        aside={
          <div ref={removing.fallback}>
            <VerifiedButton
              call={addBudget}
              size="xs"
              variant="default"
              leftSection={<IconPlus size={14} />}
              onClick={() => adding.ask(true)}
            >
              {t('add')}
            </VerifiedButton>
          </div>
        }
      >
        <Answer query={query} data={query.data} rows={2}>
          {budgets =>
            budgets.length === 0 ? (
              <p className={classes.none}>{t('none')}</p>
            ) : (
              <ul className={classes.budgets}>
                {budgets.map(budget => (
                  <BudgetRow
                    key={budget.id}
                    budget={budget}
                    onEdit={() => editing.ask(budget)}
                    onRemove={() => removing.ask(budget)}
                  />
                ))}
              </ul>
            )
          }
        </Answer>
      </Card>
      <Suspense>
        {adding.what && <BudgetDialog budget={null} opened={adding.opened} onClose={adding.close} />}
        {editing.what && (
          <BudgetDialog budget={editing.what} opened={editing.opened} onClose={editing.close} />
        )}
        {removing.what && (
          <ConfirmDialog
            opened={removing.opened}
            title={t('remove.title', { name: name(removing.what) })}
            confirmLabel={t('remove.confirm')}
            onConfirm={async () => {
              await remove.send({ params: { id: removing.what?.id ?? '' } })
              toast.good(t('remove.done'))
            }}
            onClose={removing.close}
          >
            {t(`remove.text${stopOf(removing.what)}`)}
          </ConfirmDialog>
        )}
      </Suspense>
    </>
  )
}

interface BudgetRowProps {
  budget: Budget
  onEdit: () => void
  onRemove: () => void
}

function BudgetRow({ budget, onEdit, onRemove }: BudgetRowProps) {
  const { t } = useTranslation('budgets')
  const format = useFormat()
  const name = useName()(budget)
  const state = stateOf(budget)
  const percent = percentSpent(budget)
  const values = { date: format.moment(budget.until), percent }
  return (
    <li className={classes.budget} data-state={state}>
      <div className={classes.head}>
        <strong className={classes.name}>
          <CoveredLink budget={budget} />
          <span className={classes.period}>{t(`per.${budget.period}`)}</span>
        </strong>
        <span className={classes.buttons}>
          <VerifiedButton
            call={editBudget}
            size="xs"
            px={6}
            variant="subtle"
            color="gray"
            aria-label={t('edit_of', { name })}
            onClick={onEdit}
          >
            <IconPencil size={16} stroke={1.6} aria-hidden="true" />
          </VerifiedButton>
          <ActionIcon color="gray" variant="subtle" aria-label={t('remove_of', { name })} onClick={onRemove}>
            <IconTrash size={16} stroke={1.6} />
          </ActionIcon>
        </span>
      </div>
      <div className={classes.bar} aria-hidden="true">
        <span className={classes.spent} style={{ width: `${Math.min(percent, 100)}%` }} />
        <i className={classes.mark} style={{ left: '50%' }} />
        <i className={classes.mark} style={{ left: '80%' }} />
      </div>
      <div className={classes.words}>
        <span className="tabular">
          {t('spent', {
            spent: format.money(budget.spent_micro, budget.currency),
            amount: format.cents(budget.amount, budget.currency),
            percent,
          })}
        </span>
        <span>{t(`state.${state}${stopOf(budget)}`, values)}</span>
      </div>
    </li>
  )
}

/** What a budget is for, and the way to it. */
function CoveredLink({ budget }: { budget: Budget }) {
  const { t } = useTranslation('budgets')
  const { instance_id, instance_name, key_id, key_name } = budget
  if (instance_id !== null)
    return (
      <Link to="/instance" search={searchOf({ id: instance_id })}>
        {instance_name}
      </Link>
    )
  if (key_id === null) return t('account')
  return (
    <Link to="/settings" search={searchOf({ section: 'api-keys' })}>
      {t('of_key', { name: key_name })}
    </Link>
  )
}

/** How what a budget does at its end is said: a key's calls are refused where others are stopped. */
function stopOf({ stops, key_id }: Budget) {
  if (!stops) return ''
  return key_id === null ? '_stops' : '_refuses'
}

/** What a budget is called: what it is for, and how long. */
function useName(): (budget: Budget) => string {
  const { t } = useTranslation('budgets')
  return ({ instance_name, key_name, period }) => {
    const covered = key_name === null ? (instance_name ?? t('account')) : t('of_key', { name: key_name })
    return `${covered}, ${t(`per.${period}`)}`
  }
}
