# Runs the task as maintenance_tasks does: its blocks are asked before each element of the collection, and
# where one says true, the job ends and comes back after the backoff.

class Integer
  def second = self
end

module MaintenanceTasks
  class Task
    def self.throttle_on(backoff:, &condition)
      (@throttles ||= []) << [condition, backoff]
    end

    def self.run
      while (backoff = interruption(new))
        sleep backoff
      end
    end

    # After how long the job comes back, with a collection that is made anew; nil: it is done.
    def self.interruption(task)
      task.collection.each do |element|
        _, backoff = @throttles.find { |condition, _| condition.call }
        return backoff if backoff

        task.process(element)
      end
      nil
    end
  end
end

# What the task uses of ActiveRecord, by psql.
Order = Struct.new(:condition) do
  def self.where(total:)
    raise "only what is not there yet" unless total.nil?

    new("total IS NULL")
  end

  def in_batches(of:)
    ids = sql("SELECT id FROM orders WHERE #{condition} ORDER BY id").split.each_slice(of)
    ids.map { |batch| Order.new("id BETWEEN #{batch.first} AND #{batch.last}") }
  end

  def update_all(assignment)
    Integer(sql("WITH done AS (UPDATE orders SET #{assignment} WHERE #{condition} RETURNING 1) SELECT count(*) FROM done"))
  end

  private

  def sql(statement)
    IO.popen(["psql", "--quiet", "--tuples-only", "--no-align", "--command", statement], &:read)
  end
end

require_relative "fill_total_task"

Maintenance::FillTotalTask.run
